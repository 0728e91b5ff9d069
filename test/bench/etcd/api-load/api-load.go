// Load on the API of kedged or on etcd. Arguments: kedged or etcd, address, bytes of a value; the token of kedged is in
// KEDGE_TOKEN. Each line of the input is a command; each line of the output is its result in JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A connection of kedged has at most 256 calls; etcd gets as many connections.
const callsOfConnection = 250

type load struct {
	server
	address, token string
	connections    []*connection
	names          int64
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (l *load) connection(n int) *connection {
	for len(l.connections) <= n/callsOfConnection {
		c, err := dial(l.address, l.token)
		check(err)
		l.connections = append(l.connections, c)
	}
	return l.connections[n/callsOfConnection]
}

func (l *load) name() string { return fmt.Sprintf("item-%08d", atomic.AddInt64(&l.names, 1)) }

type result map[string]float64

func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(share*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

func latencies(all []time.Duration) result {
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	return result{"count": float64(len(all)), "p50": percentile(all, 0.5), "p99": percentile(all, 0.99)}
}

// together makes calls by a number of clients at once until ms milliseconds are over.
func (l *load) together(clients int, ms int, request func() (string, []byte)) result {
	connections := make([]*connection, clients)
	for n := range connections {
		connections[n] = l.connection(n)
	}
	times := make([][]time.Duration, clients)
	var group sync.WaitGroup
	started := time.Now()
	ends := started.Add(time.Duration(ms) * time.Millisecond)
	for n := range connections {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for time.Now().Before(ends) {
				path, message := request()
				sent := time.Now()
				_, err := connections[n].call(path, message)
				check(err)
				times[n] = append(times[n], time.Since(sent))
			}
		}(n)
	}
	group.Wait()
	seconds := time.Since(started).Seconds()
	var all []time.Duration
	for _, some := range times {
		all = append(all, some...)
	}
	found := latencies(all)
	found["perSecond"] = float64(len(all)) / seconds
	return found
}

// count creates a number of objects by a number of clients at once.
func (l *load) count(clients int, objects int) {
	left := int64(objects)
	var group sync.WaitGroup
	for n := 0; n < clients; n++ {
		c := l.connection(n)
		group.Add(1)
		go func() {
			defer group.Done()
			for atomic.AddInt64(&left, -1) >= 0 {
				path, message := l.create(l.name())
				_, err := c.call(path, message)
				check(err)
			}
		}()
	}
	group.Wait()
}

// watcher opens a watch and calls seen with each name. It returns once the watch has begun.
func (l *load) watcher(c *connection, seen func(name []byte)) {
	begun := make(chan struct{})
	var once sync.Once
	path, message := l.watch()
	check(c.open(path, message, l.watchIsOneRequest(), &stream{
		onMessage: func(m []byte) {
			if l.events(m, seen) {
				once.Do(func() { close(begun) })
			}
		},
		onEnd: func(err error) {
			if !c.closing() {
				check(fmt.Errorf("a watch ended: %v", err))
			}
		},
	}))
	<-begun
}

// apart makes the next operations use a place whose watches begin without existing objects; back undoes that.
func (l *load) apart() (back func()) {
	before := l.server
	there, path, message := before.apart(l.names)
	if path != "" {
		_, err := l.connection(0).call(path, message)
		check(err)
	}
	l.server = there
	return func() { l.server = before }
}

// delays creates objects at a rate, and measures the time from each create to its event.
func (l *load) delays(perSecond int, ms int) result {
	defer l.apart()()
	writes, events := l.connection(0), dialed(l)
	var mutex sync.Mutex
	sent := map[string]time.Time{}
	var all []time.Duration
	total := perSecond * ms / 1_000
	done := make(chan struct{})
	l.watcher(events, func(name []byte) {
		now := time.Now()
		mutex.Lock()
		if at, ours := sent[string(name)]; ours {
			delete(sent, string(name))
			if all = append(all, now.Sub(at)); len(all) == total {
				close(done)
			}
		}
		mutex.Unlock()
	})
	// At most callsOfConnection calls are open at once. The wait of a further call is part of its delay.
	room := make(chan struct{}, callsOfConnection)
	started := time.Now()
	for n := 0; n < total; n++ {
		due := started.Add(time.Duration(n) * time.Second / time.Duration(perSecond))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		name := l.name()
		path, message := l.create(name)
		mutex.Lock()
		sent[name] = time.Now()
		mutex.Unlock()
		room <- struct{}{}
		check(writes.open(path, message, true, &stream{
			onMessage: func([]byte) {},
			onEnd: func(err error) {
				check(err)
				<-room
			},
		}))
	}
	<-done
	events.close()
	return latencies(all)
}

func dialed(l *load) *connection {
	c, err := dial(l.address, l.token)
	check(err)
	return c
}

// spread creates objects that a number of watchers receive, and measures the rate of the events of all watchers.
func (l *load) spread(watchers int, objects int) result {
	defer l.apart()()
	var connections []*connection
	var seen int64
	total := int64(watchers) * int64(objects)
	done := make(chan struct{})
	var counting int32
	for n := 0; n < watchers; n++ {
		if n%callsOfConnection == 0 {
			connections = append(connections, dialed(l))
		}
		l.watcher(connections[len(connections)-1], func([]byte) {
			if atomic.LoadInt32(&counting) == 1 && atomic.AddInt64(&seen, 1) == total {
				close(done)
			}
		})
	}
	atomic.StoreInt32(&counting, 1)
	started := time.Now()
	l.count(16, objects)
	<-done
	seconds := time.Since(started).Seconds()
	found := result{"count": float64(total), "perSecond": float64(total) / seconds}
	for _, c := range connections {
		c.close()
	}
	return found
}

// pages lists all objects, page by page.
func (l *load) pages(limit int) result {
	c := l.connection(0)
	started := time.Now()
	count := 0
	var after []byte
	for {
		path, message := l.list(limit, after)
		answer, err := c.call(path, message)
		check(err)
		some, next := l.listed(answer)
		count += some
		if len(next) == 0 || l.isLast(limit, some) {
			break
		}
		after = next
	}
	seconds := time.Since(started).Seconds()
	return result{"count": float64(count), "perSecond": float64(count) / seconds}
}

// state receives all objects as the initial state of a watch.
func (l *load) state() result {
	c := dialed(l)
	path, message := l.initial()
	count := 0
	done := make(chan struct{})
	started := time.Now()
	check(c.open(path, message, true, &stream{
		onMessage: func(m []byte) {
			if l.events(m, func([]byte) { count++ }) {
				close(done)
			}
		},
		onEnd: func(error) {},
	}))
	<-done
	seconds := time.Since(started).Seconds()
	c.close()
	return result{"count": float64(count), "perSecond": float64(count) / seconds}
}

func main() {
	size, err := strconv.Atoi(os.Args[3])
	check(err)
	value := strings.Repeat("abc{\"def\":1,", size/12+1)[:size]
	l := &load{address: os.Args[2], token: os.Getenv("KEDGE_TOKEN"), server: kedged{value, "default"}}
	if os.Args[1] == "etcd" {
		l.server = etcd{value}
	}
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var command string
		var a, b int
		fmt.Sscanf(input.Text(), "%s %d %d", &command, &a, &b)
		found := result{}
		switch command {
		case "create":
			found = l.together(a, b, func() (string, []byte) { return l.create(l.name()) })
		case "get":
			name := l.name()
			_, err := l.connection(0).call(l.create(name))
			check(err)
			found = l.together(a, b, func() (string, []byte) { return l.get(name) })
		case "fill":
			l.count(a, b)
		case "delays":
			found = l.delays(a, b)
		case "spread":
			found = l.spread(a, b)
		case "list":
			found = l.pages(a)
		case "state":
			found = l.state()
		default:
			check(fmt.Errorf("no command %q", input.Text()))
		}
		check(output.Encode(found))
	}
}
