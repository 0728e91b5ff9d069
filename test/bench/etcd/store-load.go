// Puts values into an etcd. Arguments: endpoint, bytes of a value. For each input line "clients milliseconds"
// it prints the puts per second.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/clientv3"
)

func main() {
	size, _ := strconv.Atoi(os.Args[2])
	value := strings.Repeat("abc{\"def\":1,", size/12+1)[:size]
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	var next int64
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var clients, milliseconds int
		fmt.Sscanf(input.Text(), "%d %d", &clients, &milliseconds)
		var count int64
		started := time.Now()
		ends := started.Add(time.Duration(milliseconds) * time.Millisecond)
		var group sync.WaitGroup
		for c := 0; c < clients; c++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for time.Now().Before(ends) {
					key := fmt.Sprintf("/items/default/item-%d", atomic.AddInt64(&next, 1))
					if _, err := client.Put(context.Background(), key, value); err != nil {
						panic(err)
					}
					atomic.AddInt64(&count, 1)
				}
			}()
		}
		group.Wait()
		fmt.Printf("%.1f\n", float64(count)/time.Since(started).Seconds())
	}
}
