/**
 * Configuration: TOML files read into records that validate themselves.
 *
 * <p>A record is the whole definition of a table: {@link io.cairn.common.config.Key} on each
 * component carries its documentation, its default and its range, and the compact constructor
 * refuses combinations that cannot work by throwing {@link io.cairn.common.config.KeyException}.
 * Everything else is derived: the reader ({@link io.cairn.common.config.Config}), the documented
 * example and the manual.
 *
 * <p>Parts read their file once, at the start, on the thread that starts them. Records are
 * immutable and may be used by any thread.
 */
@NullMarked
package io.cairn.common.config;

import org.jspecify.annotations.NullMarked;
