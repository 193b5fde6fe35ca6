"""Models from the hub, folders, GGUF files and the embedded package; and back to disk."""
