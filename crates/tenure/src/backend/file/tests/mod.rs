//! What the file backend does to its files.
