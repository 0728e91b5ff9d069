// A client of gRPC in Go that calls kedged at an address, and prints a line for each result. The token is in
// KEDGE_TOKEN. With the file of a certificate as second argument it connects by TLS.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// raw sends and receives encoded messages.
type raw struct{}

func (raw) Marshal(v interface{}) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

func text(message []byte, field int, value string) []byte {
	var head [20]byte
	n := binary.PutUvarint(head[:], uint64(field)<<3|2)
	n += binary.PutUvarint(head[n:], uint64(len(value)))
	return append(append(message, head[:n]...), value...)
}

func configmap(name, value string) []byte {
	entry := text(text(nil, 1, "text"), 2, value)
	object := text(text(text(nil, 1, name), 2, "default"), 5, string(entry))
	return text(text(nil, 1, "default"), 2, string(object))
}

func key(name string) []byte { return text(text(nil, 1, "default"), 2, name) }

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

const service = "/api.ConfigmapService/"

func main() {
	security := grpc.WithInsecure()
	if len(os.Args) > 2 {
		files, err := credentials.NewClientTLSFromFile(os.Args[2], "localhost")
		check(err)
		security = grpc.WithTransportCredentials(files)
	}
	conn, err := grpc.Dial(os.Args[1], security, grpc.WithKeepaliveParams(keepalive.ClientParameters{
		Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true,
	}))
	check(err)
	background, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx := metadata.AppendToOutgoingContext(background, "authorization", "Bearer "+os.Getenv("KEDGE_TOKEN"))
	call := func(ctx context.Context, method string, request []byte, options ...grpc.CallOption) ([]byte, error) {
		var answer []byte
		options = append(options, grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<28))
		return answer, conn.Invoke(ctx, service+method, &request, &answer, options...)
	}
	told := func(what string, err error) {
		fmt.Printf("%s: %v: %s\n", what, status.Code(err), status.Convert(err).Message())
	}

	answer, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{})
	check(err)
	fmt.Println("health:", answer.Status)

	_, err = call(background, "Get", key("none"))
	told("without a token", err)
	_, err = call(ctx, "Get", key("none"))
	told("of nothing", err)
	_, err = call(ctx, "Steal", key("none"))
	told("of no method", err)
	short, stop := context.WithTimeout(ctx, time.Nanosecond)
	_, err = call(short, "Get", key("none"))
	stop()
	fmt.Println("without time:", status.Code(err))

	// Streams larger than the windows, with and without compression.
	value := string(bytes.Repeat([]byte("0123456789abcde\n"), 1<<16-64))
	for n, options := range [][]grpc.CallOption{{}, {grpc.UseCompressor(gzip.Name)}} {
		_, err = call(ctx, "Create", configmap(fmt.Sprintf("large-%d", n), value), options...)
		check(err)
		got, err := call(ctx, "Get", key(fmt.Sprintf("large-%d", n)), options...)
		check(err)
		fmt.Println("large:", bytes.Contains(got, []byte(value)))
	}
	_, err = call(ctx, "Create", configmap("too-large", string(bytes.Repeat([]byte("x"), 5<<20))))
	told("too large", err)

	var group sync.WaitGroup
	var mutex sync.Mutex
	created := 0
	for client := 0; client < 300; client++ {
		group.Add(1)
		go func(client int) {
			defer group.Done()
			for n := 0; n < 5; n++ {
				_, err := call(ctx, "Create", configmap(fmt.Sprintf("many-%d-%d", client, n), "v"))
				check(err)
				mutex.Lock()
				created++
				mutex.Unlock()
			}
		}(client)
	}
	group.Wait()
	fmt.Println("created:", created)

	watching, leave := context.WithCancel(ctx)
	description := &grpc.StreamDesc{ServerStreams: true}
	stream, err := conn.NewStream(watching, description, service+"Watch", grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<28))
	check(err)
	request := text(nil, 1, "default")
	check(stream.SendMsg(&request))
	check(stream.CloseSend())
	received := 0
	for received < 2*len(value)+created*100 {
		var message []byte
		check(stream.RecvMsg(&message))
		received += len(message)
	}
	leave()
	var message []byte
	for err == nil {
		err = stream.RecvMsg(&message)
	}
	fmt.Println("watched, then:", status.Code(err))
	_, err = call(ctx, "Get", key("large-0"))
	check(err)
	check(conn.Close())
	fmt.Println("done")
}
