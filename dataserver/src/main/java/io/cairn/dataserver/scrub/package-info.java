/**
 * Looks through the placement groups (PGs) whose primary is on a disk of this server, by schedule
 * or because an administrator asked for it: do all members have the same chunks (light), and can
 * every block be read (deep)? Questions go from {@link io.cairn.dataserver.scrub.GroupScrub} to the
 * other members, whose {@code service} answers with what {@link
 * io.cairn.dataserver.scrub.ChunkChecks} reads there; what was found goes to the metadata service
 * by {@code mdslink}. Each disk has a thread that scrubs its primaries, and one that reads for
 * scrubs.
 */
@NullMarked
package io.cairn.dataserver.scrub;

import org.jspecify.annotations.NullMarked;
