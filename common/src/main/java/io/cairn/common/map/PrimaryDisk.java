package io.cairn.common.map;

import com.google.protobuf.ByteString;
import java.net.InetSocketAddress;

/**
 * The disk that is the primary of a PG, and the process that serves it. What was sent to one need
 * not be sent again while the map names an equal one: neither a server that is down nor another
 * backup makes a difference. Immutable.
 *
 * @param disk id
 * @param server id
 * @param incarnation of the server's process: what an earlier one was sent and did not answer is
 *     lost
 * @param address where requests go
 */
public record PrimaryDisk(
        int disk, int server, ByteString incarnation, InetSocketAddress address) {}
