// Package sqldb opens a service's database, SQLite or PostgreSQL, so that one
// set of SQL serves both ($1 placeholders, ON CONFLICT, RETURNING).
package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"sabha.dev/chassis/outage"
)

// Dialects.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// DB is a database with a pool for reads and one for writes. On SQLite the
// write pool is a single connection, since the engine has one writer; on
// PostgreSQL both are the same pool.
type DB struct {
	Read, Write *sql.DB
	Dialect     string
	// Sync is the durability of a commit: "full" or "normal" on SQLite, empty on PostgreSQL.
	Sync string
}

// Open opens the database of a URL and checks that it answers.
//
//   - sqlite:PATH[?sync=full|normal&secure_delete=on] or a plain path: a file, made
//     when missing, its folder too; write-ahead log; sync is full unless stated;
//     secure_delete overwrites what is deleted.
//   - postgres://…: as pgx reads it; search_path selects the service's schema.
func Open(ctx context.Context, rawURL string) (*DB, error) {
	if strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://") {
		return openPostgres(ctx, rawURL)
	}
	return openSQLite(ctx, rawURL)
}

func openSQLite(ctx context.Context, rawURL string) (*DB, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(rawURL, "sqlite:"), "?")
	options, err := url.ParseQuery(query)
	if err != nil || path == "" || strings.Contains(path, "://") {
		return nil, fmt.Errorf("database %q: want sqlite:PATH or postgres://…", rawURL)
	}
	sync := options.Get("sync")
	if sync == "" {
		sync = "full"
	}
	if sync != "full" && sync != "normal" {
		return nil, fmt.Errorf("database %q: sync is %q; want full or normal", rawURL, sync)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("database folder: %w", err)
	}
	// As every Linux distribution builds SQLite: a commit waits for its data, not
	// for time stamps of the file. Where it is not to be had, fsync stays.
	_, _ = sqlite.Fdatasync(true)
	pragmas := url.Values{}
	if options.Get("secure_delete") == "on" {
		pragmas.Add("_pragma", "secure_delete(ON)")
	}
	for _, p := range []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "foreign_keys(1)",
		"cache_size(-16000)", "temp_store(MEMORY)", "wal_autocheckpoint(4000)",
	} {
		pragmas.Add("_pragma", p)
	}
	write, err := sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode()+"&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	if err := write.PingContext(ctx); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	pragmas.Add("_pragma", "query_only(1)")
	read, err := sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode())
	if err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)
	return &DB{Read: read, Write: write, Dialect: SQLite, Sync: sync}, nil
}

// PostgreSQL ends the transaction of a process that was stalled within it, which
// would else hold up whoever takes its tasks over for as long as the stall lasts.
const idleInTransaction, idleFor = "idle_in_transaction_session_timeout", "5s"

// connections bounds the pool of a process on PostgreSQL. All of them are kept:
// making one costs more than a transaction.
const connections = 16

func openPostgres(ctx context.Context, rawURL string) (*DB, error) {
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if config.RuntimeParams[idleInTransaction] == "" {
		config.RuntimeParams[idleInTransaction] = idleFor
	}
	// A server that has vanished without a word is found out within 20 s.
	alive := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}}
	config.DialFunc = outage.Dial(alive.DialContext)
	if !strings.Contains(rawURL, "connect_timeout") {
		config.ConnectTimeout = 5 * time.Second
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	if err := pool.PingContext(ctx); err != nil {
		_ = pool.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{Read: pool, Write: pool, Dialect: Postgres}, nil
}

// Renew closes the idle connections to PostgreSQL, after one was found broken: the
// others are likely to be as well.
func (db *DB) Renew() {
	if db.Dialect == Postgres {
		db.Write.SetMaxIdleConns(0)
		db.Write.SetMaxIdleConns(connections)
	}
}

// Close closes both pools.
func (db *DB) Close() error {
	err := db.Read.Close()
	if db.Write != db.Read {
		if werr := db.Write.Close(); err == nil {
			err = werr
		}
	}
	return err
}
