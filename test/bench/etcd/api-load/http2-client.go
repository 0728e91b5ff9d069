// A gRPC client for encoded messages that writes its own frames, so that it uses as little processor time as possible.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"net/url"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	receiveWindow = 1 << 28
	creditEvery   = 1 << 24
)

// stream is an open call. The functions run in the goroutine that reads its connection.
type stream struct {
	id         uint32
	received   []byte
	uncredited int
	onMessage  func(message []byte)
	onEnd      func(err error)
}

type connection struct {
	socket  net.Conn
	framer  *http2.Framer
	output  *bufio.Writer
	flushes chan struct{}

	mutex      sync.Mutex
	room       *sync.Cond
	sendWindow int
	streamsMax int
	block      bytes.Buffer
	encoder    *hpack.Encoder
	headers    []hpack.HeaderField
	next       uint32
	streams    map[uint32]*stream
	ended      error
	closed     bool
	uncredited int
}

func dial(address, token string) (*connection, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &connection{
		socket:     socket,
		output:     bufio.NewWriterSize(socket, 1<<16),
		flushes:    make(chan struct{}, 1),
		sendWindow: 65_535,
		streamsMax: math.MaxInt,
		next:       1,
		streams:    map[uint32]*stream{},
	}
	c.room = sync.NewCond(&c.mutex)
	c.encoder = hpack.NewEncoder(&c.block)
	c.headers = []hpack.HeaderField{
		{Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: address},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}
	if token != "" {
		c.headers = append(c.headers, hpack.HeaderField{Name: "authorization", Value: "Bearer " + token})
	}
	c.framer = http2.NewFramer(c.output, bufio.NewReaderSize(socket, 1<<18))
	c.framer.SetReuseFrames()
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4_096, nil)
	if _, err := c.output.WriteString(http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindow},
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
	); err != nil {
		return nil, err
	}
	if err := c.framer.WriteWindowUpdate(0, receiveWindow-65_535); err != nil {
		return nil, err
	}
	if err := c.output.Flush(); err != nil {
		return nil, err
	}
	go c.flush()
	go c.read()
	return c, nil
}

// close ends the connection; its calls end with an error.
func (c *connection) close() {
	c.mutex.Lock()
	c.closed = true
	c.mutex.Unlock()
	c.socket.Close()
}

func (c *connection) closing() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

// open starts a call with one message, once the server allows another call and the connection's window has room for the
// message, which is copied before open returns.
func (c *connection) open(path string, message []byte, halfClose bool, s *stream) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for (c.sendWindow < len(message)+5 || len(c.streams) >= c.streamsMax) && c.ended == nil {
		c.room.Wait()
	}
	if c.ended != nil {
		return c.ended
	}
	c.sendWindow -= len(message) + 5
	s.id = c.next
	c.next += 2
	c.streams[s.id] = s
	c.block.Reset()
	c.encoder.WriteField(hpack.HeaderField{Name: ":method", Value: "POST"})
	c.encoder.WriteField(hpack.HeaderField{Name: ":path", Value: path})
	for _, field := range c.headers {
		c.encoder.WriteField(field)
	}
	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: c.block.Bytes(), EndHeaders: true,
	}); err != nil {
		return err
	}
	data := make([]byte, 5, len(message)+5)
	binary.BigEndian.PutUint32(data[1:], uint32(len(message)))
	data = append(data, message...)
	if err := c.framer.WriteData(s.id, halfClose, data); err != nil {
		return err
	}
	select {
	case c.flushes <- struct{}{}:
	default:
	}
	return nil
}

func (c *connection) flush() {
	for range c.flushes {
		c.mutex.Lock()
		c.output.Flush()
		c.mutex.Unlock()
	}
}

func (c *connection) credit(id uint32, bytes int) {
	c.mutex.Lock()
	c.framer.WriteWindowUpdate(id, uint32(bytes))
	c.output.Flush()
	c.mutex.Unlock()
}

func (c *connection) read() {
	err := c.readFrames()
	c.mutex.Lock()
	c.ended = err
	open := c.streams
	c.streams = map[uint32]*stream{}
	c.room.Broadcast()
	c.mutex.Unlock()
	for _, s := range open {
		s.onEnd(err)
	}
}

func (c *connection) find(id uint32) *stream {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.streams[id]
}

func (c *connection) end(s *stream, err error) {
	c.mutex.Lock()
	delete(c.streams, s.id)
	c.room.Broadcast()
	c.mutex.Unlock()
	s.onEnd(err)
}

func (c *connection) readFrames() error {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if f.IsAck() {
				continue
			}
			c.mutex.Lock()
			if most, given := f.Value(http2.SettingMaxConcurrentStreams); given {
				c.streamsMax = int(most)
			}
			c.framer.WriteSettingsAck()
			c.output.Flush()
			c.mutex.Unlock()
		case *http2.PingFrame:
			if f.IsAck() {
				continue
			}
			c.mutex.Lock()
			c.framer.WritePing(true, f.Data)
			c.output.Flush()
			c.mutex.Unlock()
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				c.mutex.Lock()
				c.sendWindow += int(f.Increment)
				c.room.Broadcast()
				c.mutex.Unlock()
			}
		case *http2.GoAwayFrame:
			return fmt.Errorf("the server closes the connection: %v %s", f.ErrCode, f.DebugData())
		case *http2.RSTStreamFrame:
			if s := c.find(f.StreamID); s != nil {
				c.end(s, fmt.Errorf("reset: %v", f.ErrCode))
			}
		case *http2.MetaHeadersFrame:
			s := c.find(f.StreamID)
			if s == nil || !f.StreamEnded() {
				continue
			}
			status, message := "", ""
			for _, field := range f.Fields {
				switch field.Name {
				case "grpc-status":
					status = field.Value
				case "grpc-message":
					message, _ = url.PathUnescape(field.Value)
				}
			}
			if status == "0" {
				c.end(s, nil)
			} else {
				c.end(s, fmt.Errorf("status %q: %s", status, message))
			}
		case *http2.DataFrame:
			c.data(f)
		}
	}
}

func (c *connection) data(f *http2.DataFrame) {
	size := len(f.Data())
	if c.uncredited += size; c.uncredited >= creditEvery {
		c.credit(0, c.uncredited)
		c.uncredited = 0
	}
	s := c.find(f.StreamID)
	if s == nil {
		return
	}
	if s.uncredited += size; s.uncredited >= creditEvery {
		c.credit(s.id, s.uncredited)
		s.uncredited = 0
	}
	s.received = append(s.received, f.Data()...)
	at := 0
	for len(s.received)-at >= 5 {
		length := int(binary.BigEndian.Uint32(s.received[at+1:]))
		if len(s.received)-at-5 < length {
			break
		}
		s.onMessage(s.received[at+5 : at+5+length])
		at += 5 + length
	}
	// An incomplete message stays where it is: a copy for each frame would make large messages quadratic.
	if at > 0 {
		s.received = append(s.received[:0], s.received[at:]...)
	}
	if f.StreamEnded() {
		c.end(s, fmt.Errorf("ended without a status"))
	}
}

// call makes a call with one message, and returns a copy of its answer.
func (c *connection) call(path string, message []byte) ([]byte, error) {
	var answer []byte
	done := make(chan error, 1)
	err := c.open(path, message, true, &stream{
		onMessage: func(m []byte) { answer = append([]byte(nil), m...) },
		onEnd:     func(err error) { done <- err },
	})
	if err != nil {
		return nil, err
	}
	return answer, <-done
}
