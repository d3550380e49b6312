// Command descriptors writes the A2A contract as a Protobuf image.
//
// The contract is the one the A2A Go SDK links, so no second copy of a2a.proto
// exists in this repository. The image is a serialised
// google.protobuf.FileDescriptorSet that holds the A2A file and every file it
// imports, dependencies first; `buf generate` reads it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	out := flag.String("o", "", "file to write the image to")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "descriptors:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	if out == "" {
		return fmt.Errorf("name the file to write with -o")
	}
	image, err := image(a2apb.File_a2av1_proto)
	if err != nil {
		return err
	}
	return os.WriteFile(out, image, 0o644)
}

// image serialises root with its imports. The encoding is deterministic.
func image(root protoreflect.FileDescriptor) ([]byte, error) {
	set := &descriptorpb.FileDescriptorSet{}
	appendFile(set, root, map[string]bool{})
	return proto.MarshalOptions{Deterministic: true}.Marshal(set)
}

// appendFile adds file after everything it imports, each path once.
func appendFile(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		appendFile(set, imports.Get(i).FileDescriptor, seen)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
}
