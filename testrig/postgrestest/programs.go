package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrMissing says that this machine has no PostgreSQL programs, so that a test
// which needs them cannot run here.
var ErrMissing = errors.New("PostgreSQL is missing: install the programs initdb and postgres (Debian: postgresql), in PATH or below /usr/lib/postgresql")

type programs struct {
	initdb, postgres string
}

// findPrograms looks in PATH first, then where Debian keeps each version.
func findPrograms() (programs, error) {
	return findIn(append(filepath.SplitList(os.Getenv("PATH")), debianFolders()...))
}

func debianFolders() []string {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil // only a malformed pattern fails
	}
	return folders
}

// findIn takes both programs from one folder: those of two versions do not fit.
func findIn(folders []string) (programs, error) {
	for _, folder := range folders {
		initdb, err := exec.LookPath(filepath.Join(folder, "initdb"))
		if err != nil {
			continue
		}
		postgres, err := exec.LookPath(filepath.Join(folder, "postgres"))
		if err != nil {
			continue
		}
		return programs{initdb: initdb, postgres: postgres}, nil
	}
	return programs{}, ErrMissing
}

// unprivileged returns with whose rights PostgreSQL is to run, and gives that
// user the folder: PostgreSQL refuses to run as root. For anyone but root there
// is nothing to change.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody")
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", account.Username, err)
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return nil, fmt.Errorf("group of user %s: %w", account.Username, err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}
