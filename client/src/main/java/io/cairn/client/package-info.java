/**
 * Makes a client of its rooms: event loops, connections, timer, session, map, open files. A call
 * comes in through the interface of {@code api} and goes down to {@code inode} if it concerns an
 * open file, to {@code name} if it concerns names, else to {@code meta} at once; below these {@code
 * data} and {@code meta} send requests. Any thread calls; answers arrive on the client's event
 * loops, and what waits for a time runs on its one timer.
 */
@NullMarked
package io.cairn.client;

import org.jspecify.annotations.NullMarked;
