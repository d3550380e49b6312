package postgrestest

// Folder is where the server keeps its files.
func Folder(s *Server) string { return s.dir }

// FindIn looks for the programs in one folder only.
func FindIn(folder string) error {
	_, err := findIn([]string{folder})
	return err
}
