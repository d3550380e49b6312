package a2aagent

import (
	"encoding/json"
	"math"
	"strconv"
)

// inexact gives the place of the first whole number that a data part cannot be relied on
// to carry: its numbers are 64-bit floats, which from 2^53 have gaps. Empty for none.
func inexact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return beyond(v, "")
}

func beyond(v any, path string) string {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) >= 1<<53 && math.Abs(v) < 1e19 {
			return path
		}
	case map[string]any:
		for k, e := range v {
			if p := beyond(e, path+"."+k); p != "" {
				return p
			}
		}
	case []any:
		for i, e := range v {
			if p := beyond(e, path+"["+strconv.Itoa(i)+"]"); p != "" {
				return p
			}
		}
	}
	return ""
}
