package taskstore

import "sync"

const (
	// maxDecoded bounds the records that are held; a full memory starts afresh.
	maxDecoded = 256
	// maxDecodedSize bounds the body of one that is held, bytes.
	maxDecodedSize = 16 << 10
)

// decoded holds records that lists have read, by id. A list is read again and again
// while somebody looks at it, and decoding is most of the work. Whoever gets a record
// from here does not change it, and does not rely on Push, which is no part of a revision.
type decoded struct {
	mu   sync.Mutex
	byID map[string]*Record
}

// of gives the records that are held as they are at these revisions, and the ids of the others.
func (d *decoded) of(revs map[string]int64) (held map[string]*Record, others []string) {
	held = make(map[string]*Record, len(revs))
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, rev := range revs {
		if r := d.byID[id]; r != nil && r.Rev == rev {
			held[id] = r
		} else {
			others = append(others, id)
		}
	}
	return held, others
}

func (d *decoded) keep(r *Record, size int) {
	if size > maxDecodedSize {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil || len(d.byID) >= maxDecoded {
		d.byID = map[string]*Record{}
	}
	d.byID[r.Task.GetId()] = r
}
