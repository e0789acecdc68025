/**
 * What programs do on a mounted cluster that nothing disturbs, through one mount and through two.
 */
@NullMarked
package io.cairn.system.posix;

import org.jspecify.annotations.NullMarked;
