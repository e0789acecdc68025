package io.cairn.mds.namespace;

import io.cairn.mds.store.Time;

/**
 * The client that a mutation is executed for.
 *
 * @param session the client's session
 * @param uid owner of what is created
 * @param gid group of what is created, unless the directory passes on its own
 * @param time the client's clock
 * @param ownInode the id of what is made, of a range of the session; 0: the leader has chosen
 */
record Caller(long session, int uid, int gid, Time time, long ownInode) {}
