package main

import (
	"encoding/binary"
	"strconv"
)

// server encodes the requests of the benchmark for one of the two servers, and decodes their responses.
type server interface {
	create(name string) (path string, message []byte)
	get(name string) (path string, message []byte)
	list(limit int, after []byte) (path string, message []byte)
	// listed returns the number of objects in an answer to list, and where the next page begins.
	listed(answer []byte) (count int, after []byte)
	// isLast reports whether a page is the last one although listed returned a next one.
	isLast(limit, count int) bool
	watch() (path string, message []byte)
	// watchIsOneRequest reports whether the client closes its side of a watch after the request.
	watchIsOneRequest() bool
	// initial is a watch that begins with the existing objects; its path is empty if the server has none.
	initial() (path string, message []byte)
	// apart returns a server whose watches begin without existing objects, and the call that creates its place, if it
	// needs one.
	apart(place int64) (there server, path string, message []byte)
	// events calls found with the name of each object in a message of a watch, and reports whether it has none.
	events(message []byte, found func(name []byte)) (empty bool)
}

func text(message []byte, field int, value string) []byte {
	message = tag(message, field)
	message = uvarint(message, uint64(len(value)))
	return append(message, value...)
}

func tag(message []byte, field int) []byte { return uvarint(message, uint64(field)<<3|2) }

func number(message []byte, field int, value uint64) []byte {
	return uvarint(uvarint(message, uint64(field)<<3), value)
}

func uvarint(message []byte, value uint64) []byte {
	for value >= 0x80 {
		message = append(message, byte(value)|0x80)
		value >>= 7
	}
	return append(message, byte(value))
}

// fields calls found with each text, message or bytes field of a message.
func fields(message []byte, found func(field int, value []byte)) {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		value, n := binary.Uvarint(message)
		switch key & 7 {
		case 0:
			message = message[n:]
		case 2:
			found(int(key>>3), message[n:n+int(value)])
			message = message[n+int(value):]
		default:
			panic("a message with a field of type " + strconv.Itoa(int(key&7)))
		}
	}
}

// kedged has the objects as configmaps of a namespace.
type kedged struct{ value, namespace string }

func (k kedged) apart(place int64) (server, string, []byte) {
	name := "apart-" + strconv.FormatInt(place, 10)
	message := text(nil, 2, string(text(nil, 1, name)))
	return kedged{k.value, name}, "/api.NamespaceService/Create", message
}

func (k kedged) create(name string) (string, []byte) {
	entry := text(text(nil, 1, "text"), 2, k.value)
	object := text(text(text(nil, 1, name), 2, k.namespace), 5, string(entry))
	return "/api.ConfigmapService/Create", text(text(nil, 1, k.namespace), 2, string(object))
}

func (k kedged) get(name string) (string, []byte) {
	return "/api.ConfigmapService/Get", text(text(nil, 1, k.namespace), 2, name)
}

func (k kedged) list(limit int, after []byte) (string, []byte) {
	message := text(nil, 1, k.namespace)
	if limit > 0 {
		message = number(message, 2, uint64(limit))
	}
	if after != nil {
		message = text(message, 3, string(after))
	}
	return "/api.ConfigmapService/List", message
}

func (k kedged) listed(answer []byte) (count int, after []byte) {
	fields(answer, func(field int, value []byte) {
		switch field {
		case 1:
			count++
		case 3:
			after = value
		}
	})
	return
}

func (k kedged) watch() (string, []byte) {
	return "/api.ConfigmapService/Watch", text(nil, 1, k.namespace)
}

func (k kedged) isLast(limit, count int) bool { return false }

func (k kedged) watchIsOneRequest() bool { return true }

func (k kedged) initial() (string, []byte) { return k.watch() }

func (k kedged) events(message []byte, found func([]byte)) bool {
	empty := true
	fields(message, func(field int, event []byte) {
		if field != 1 {
			return
		}
		empty = false
		fields(event, func(field int, object []byte) {
			if field != 2 {
				return
			}
			named := false
			fields(object, func(field int, value []byte) {
				if field == 1 && !named {
					named = true
					found(value)
				}
			})
		})
	})
	return empty
}

// etcd has the objects as keys below items/.
type etcd struct{ value string }

// Watches of etcd begin without the existing objects.
func (e etcd) apart(int64) (server, string, []byte) { return e, "", nil }

const (
	prefix = "items/"
	// The first key after all that have the prefix.
	beyond = "items0"
)

func (e etcd) create(name string) (string, []byte) {
	return "/etcdserverpb.KV/Put", text(text(nil, 1, prefix+name), 2, e.value)
}

func (e etcd) get(name string) (string, []byte) {
	return "/etcdserverpb.KV/Range", text(nil, 1, prefix+name)
}

func (e etcd) list(limit int, after []byte) (string, []byte) {
	from := prefix
	if after != nil {
		from = string(after) + "\x00"
	}
	message := text(text(nil, 1, from), 2, beyond)
	if limit > 0 {
		message = number(message, 3, uint64(limit))
	}
	return "/etcdserverpb.KV/Range", message
}

func (e etcd) listed(answer []byte) (count int, after []byte) {
	var last []byte
	fields(answer, func(field int, value []byte) {
		if field == 2 {
			count++
			last = value
		}
	})
	fields(last, func(field int, value []byte) {
		if field == 1 {
			after = value
		}
	})
	return
}

func (e etcd) watch() (string, []byte) {
	return "/etcdserverpb.Watch/Watch", text(nil, 1, string(text(text(nil, 1, prefix), 2, beyond)))
}

func (e etcd) isLast(limit, count int) bool { return limit == 0 || count < limit }

func (e etcd) watchIsOneRequest() bool { return false }

func (e etcd) initial() (string, []byte) { return "", nil }

func (e etcd) events(message []byte, found func([]byte)) bool {
	empty := true
	fields(message, func(field int, event []byte) {
		if field != 11 {
			return
		}
		empty = false
		fields(event, func(field int, object []byte) {
			if field == 2 {
				fields(object, func(field int, key []byte) {
					if field == 1 {
						found(key[len(prefix):])
					}
				})
			}
		})
	})
	return empty
}
