package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"
)

// Guess counts a guess at a name at a time: burst are allowed at once, and another one each
// so often. When it is one too many it is not counted, and wait is after what time another
// is allowed. It counts for every replica, in one statement.
func (s *Store) Guess(ctx context.Context, name string, burst int, each time.Duration, now time.Time) (wait time.Duration, err error) {
	digest, most := digestOf(name), nanos(now)+int64(burst)*int64(each)
	var full int64
	err = s.db.Write.QueryRowContext(ctx, `INSERT INTO guesses (digest, full_at) VALUES ($1, $2)
		ON CONFLICT (digest) DO UPDATE SET full_at = CASE WHEN guesses.full_at < $3 THEN $2 ELSE guesses.full_at + $4 END
		WHERE guesses.full_at + $4 <= $5 RETURNING full_at`, digest, nanos(now)+int64(each), nanos(now), int64(each), most).Scan(&full)
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, named("count a sign-in", err)
	}
	err = s.db.Write.QueryRowContext(ctx, `SELECT full_at FROM guesses WHERE digest = $1`, digest).Scan(&full)
	if errors.Is(err, sql.ErrNoRows) { // another one was right meanwhile
		return each, nil
	}
	return max(time.Duration(full+int64(each)-most), time.Millisecond), named("count a sign-in", err)
}

// Right takes a guess back.
func (s *Store) Right(ctx context.Context, name string, each time.Duration) error {
	_, err := s.changed(ctx, `UPDATE guesses SET full_at = full_at - $2 WHERE digest = $1`, digestOf(name), int64(each))
	return named("count a sign-in", err)
}

// Forget removes what is as good as never guessed at.
func (s *Store) Forget(ctx context.Context, now time.Time) error {
	_, err := s.changed(ctx, `DELETE FROM guesses WHERE full_at <= $1`, nanos(now))
	return named("forget sign-ins", err)
}

// digestOf keeps what somebody has typed out of the database: it may be a password.
func digestOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
