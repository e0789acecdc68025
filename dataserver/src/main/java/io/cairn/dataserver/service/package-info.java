/**
 * Answers every request to this server: from clients, from other members of a placement group (PG),
 * from the metadata service (MDS); and repairs damaged blocks from other members. A request is
 * decoded and checked on the event loop of its connection, goes down to the loop of {@code pg} that
 * owns its PG, and whichever thread completes it sends the answer. No thread lives here.
 */
@NullMarked
package io.cairn.dataserver.service;

import org.jspecify.annotations.NullMarked;
