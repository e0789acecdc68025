/** An MDS and data servers in memory behind real RPC, with faults on demand. */
@NullMarked
package io.cairn.client.fake;

import org.jspecify.annotations.NullMarked;
