package mca

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	case "":
		return false, errors.New("it is empty")
	}
	return false, errors.New("it is not a truth value")
}

func parseFloat(text string) (float64, error) {
	if text == "" {
		return 0, errors.New("it is empty")
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("it is out of range")
	case err != nil:
		return 0, errors.New("it is not a number")
	case math.IsInf(x, 0) || math.IsNaN(x):
		return 0, errors.New("it is not a finite number")
	}
	return x, nil
}

func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("it is empty")
	}
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		return 0, errors.New("its unit is missing")
	}
	return 0, errors.New("it is not a duration")
}

func parseInt(text string, size int) (int64, error) {
	negative, magnitude, err := parseInteger(text)
	if err != nil {
		return 0, err
	}
	limit := uint64(1) << (size - 1) // magnitude of the most negative value
	if negative && magnitude <= limit {
		return -int64(magnitude), nil
	}
	if magnitude >= limit {
		return 0, fmt.Errorf("it does not fit in %d bits (%d to %d)", size, -1<<(size-1), int64(limit-1))
	}
	return int64(magnitude), nil
}

// ParseSize reads a number of bytes as parameters do: digits in C notation and an optional multiplier k, m or g.
func ParseSize(text string) (int64, error) {
	n, err := parseInt(text, 64)
	if err == nil && n < 0 {
		err = errors.New("it is negative")
	}
	return n, err
}

func parseUint(text string, size int) (uint64, error) {
	negative, magnitude, err := parseInteger(text)
	if err != nil {
		return 0, err
	}
	if negative && magnitude != 0 {
		return 0, errors.New("it is negative")
	}
	if limit := uint64(math.MaxUint64) >> (64 - size); magnitude > limit {
		return 0, fmt.Errorf("it does not fit in %d bits (0 to %d)", size, limit)
	}
	return magnitude, nil
}

// parseInteger reads an optional sign, digits in C notation (0x hexadecimal,
// leading 0 octal, else decimal) and an optional multiplier k, m or g, which
// are the powers of 1024. Nothing may follow.
func parseInteger(text string) (negative bool, magnitude uint64, err error) {
	digits := text
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	shift := 0
	if n := len(digits); n > 0 {
		switch digits[n-1] | 0x20 { // lower case
		case 'k':
			shift = 10
		case 'm':
			shift = 20
		case 'g':
			shift = 30
		}
		if shift > 0 {
			digits = digits[:n-1]
		}
	}
	base := 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	if text == "" {
		return false, 0, errors.New("it is empty")
	}
	// With an explicit base ParseUint takes neither a sign nor underscores.
	magnitude, err = strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return false, 0, errors.New("it does not fit in 64 bits")
	}
	if err != nil {
		if base == 8 {
			return false, 0, errors.New("it is not an integer (a leading 0 means octal)")
		}
		return false, 0, errors.New("it is not an integer")
	}
	if bits.LeadingZeros64(magnitude) < shift {
		return false, 0, errors.New("it does not fit in 64 bits")
	}
	return negative, magnitude << shift, nil
}
