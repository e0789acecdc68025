package io.cairn.fuse.posix;

import org.junit.jupiter.api.BeforeEach;

/** The same where the kernel believes all it is told: only what it does itself changes anything. */
class LeasedRandomOperationsTest extends RandomOperationsTest {
    @Override
    String options() {
        return "attr_timeout=3600";
    }

    @BeforeEach
    void lease() {
        memory.client().leases(2_000_000_000);
    }
}
