package rte

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// A published value travels as base64-url text, cut into parts that fit the launcher's limits, under the keys
// r<rank>.<key>.0, .1 and so on. The first part begins with the number of parts and a dot.

// maxParts bounds what a reader believes of a first part; it allows for values of some hundred megabytes.
const maxParts = 1 << 20

var cardEncoding = base64.RawURLEncoding

func partKey(rank int, key string, part int) string {
	return "r" + strconv.Itoa(rank) + "." + key + "." + strconv.Itoa(part)
}

// putCard cuts value into parts and hands each to put; room says how long the part of a key may be.
func putCard(rank int, key string, value []byte, room func(key string) int, put func(key, part string) error) error {
	text := cardEncoding.EncodeToString(value)
	// The longest keys decide for all parts, and the count in front of the first part takes room too.
	const countRoom = 8
	limit := room(partKey(rank, key, maxParts)) - countRoom
	if limit < 1 {
		return fmt.Errorf("rte: key %q is too long for the launcher's key-value space", key)
	}
	parts := max(1, (len(text)+limit-1)/limit)
	if parts > maxParts {
		return fmt.Errorf("rte: the value of key %q is too large: %d bytes", key, len(value))
	}
	for i := range parts {
		part := text[i*limit : min(len(text), (i+1)*limit)]
		if i == 0 {
			part = strconv.Itoa(parts) + "." + part
		}
		if err := put(partKey(rank, key, i), part); err != nil {
			return err
		}
	}
	return nil
}

// getCard is the inverse of putCard.
func getCard(rank int, key string, get func(key string) (string, error)) ([]byte, error) {
	first, err := get(partKey(rank, key, 0))
	if err != nil {
		return nil, err
	}
	count, part, ok := strings.Cut(first, ".")
	parts, err := strconv.Atoi(count)
	if !ok || err != nil || parts < 1 || parts > maxParts {
		return nil, fmt.Errorf("rte: key %q of rank %d holds something that Put did not write", key, rank)
	}
	var text strings.Builder
	text.WriteString(part)
	for i := 1; i < parts; i++ {
		part, err := get(partKey(rank, key, i))
		if err != nil {
			return nil, fmt.Errorf("rte: part %d of %d of key %q of rank %d is missing: %w", i, parts, key, rank, err)
		}
		text.WriteString(part)
	}
	value, err := cardEncoding.DecodeString(text.String())
	if err != nil {
		return nil, fmt.Errorf("rte: key %q of rank %d: %w", key, rank, err)
	}
	return value, nil
}
