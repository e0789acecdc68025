package io.cairn.dataserver.chunk;

/** A chunk within its placement group. */
public record ChunkId(long inode, int chunk) {}
