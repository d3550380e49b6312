package service

import (
	"context"
	"errors"
	"fmt"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
)

// schema is all that a service keeps in its database.
func (d Definition) schema() sqldb.Schema {
	s := sqldb.Schema{Service: d.Name, Components: []sqldb.Component{taskstore.Component()}}
	if d.Migrations != nil {
		s.Components = append(s.Components, sqldb.Component{Name: d.Name, Files: d.Migrations})
	}
	return s
}

// Migrate opens the database of a service and brings it up to date.
func Migrate(ctx context.Context, d Definition) error {
	db, err := OpenDatabase(ctx, d.Config.Database, d.schema(), false)
	if err != nil {
		return err
	}
	return db.Close()
}

// Restored tells a service that its database was restored from a backup. Its
// restore epoch rises, so that readers who remember later times begin anew, and
// no replica of before owns a task any more. No replica may run meanwhile.
func Restored(ctx context.Context, d Definition) error {
	db, err := OpenDatabase(ctx, d.Config.Database, d.schema(), false)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return taskstore.Restored(ctx, db)
}

// OpenDatabase opens a database and brings its schema up to date, or only checks
// that it is where migrations are run apart.
func OpenDatabase(ctx context.Context, url string, schema sqldb.Schema, checkOnly bool) (*sqldb.DB, error) {
	db, err := sqldb.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	if checkOnly {
		err = schema.Check(ctx, db)
	} else {
		err = schema.Migrate(ctx, db)
	}
	if errors.Is(err, sqldb.ErrBehind) {
		err = fmt.Errorf("%w; run %s migrate -config FILE first", err, schema.Service)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
