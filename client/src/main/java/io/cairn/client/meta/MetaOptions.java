package io.cairn.client.meta;

import java.net.InetSocketAddress;
import java.util.List;

/**
 * What a {@link MetaClient} is given.
 *
 * @param members configured addresses of MDS members, at least one
 * @param description of this client, for the administrator
 * @param attemptNanos how long one attempt at a request may take
 * @param pipeline batches of mutations in flight at once
 */
public record MetaOptions(
        List<InetSocketAddress> members, String description, long attemptNanos, int pipeline) {}
