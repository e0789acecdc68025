@NullMarked
package io.cairn.common.rpc;

import org.jspecify.annotations.NullMarked;
