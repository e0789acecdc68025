/**
 * The one protocol between all parts: frames over TCP, requests with deadlines, pushes from server
 * to client. A request goes from a channel through its connection to the event loop, the answer
 * comes back to its callback; large payloads stay in the buffers they arrived in. Each connection
 * belongs to one event loop; any thread may send.
 */
@NullMarked
package io.cairn.common.rpc;

import org.jspecify.annotations.NullMarked;
