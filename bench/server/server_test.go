package server_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/bench/server"
	"sabha.dev/chassis/ext"
)

// BenchmarkPlan is the chain of five steps in this process, for profiles.
func BenchmarkPlan(b *testing.B) {
	dir := b.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	go func() {
		done <- server.Platform(ctx, dir, "127.0.0.1:19717", "full", func() { close(ready) })
	}()
	<-ready
	defer func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}()
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		b.Fatal(err)
	}
	conn, err := grpc.NewClient("127.0.0.1:19717", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := a2apb.NewA2AServiceClient(conn)
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ctx := metadata.AppendToOutgoingContext(context.Background(), ext.MetadataVersion, "1.0", "x-api-key", string(key))
			res, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{
				MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "go"}}},
				Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("chain")}},
			}})
			if err != nil {
				b.Error(err)
				return
			}
			if s := res.GetTask().GetStatus().GetState(); s != a2apb.TaskState_TASK_STATE_COMPLETED {
				b.Errorf("state %v", s)
				return
			}
		}
	})
}
