package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

@SuppressWarnings("NullAway") // whose slot it is does not matter here
class DurableInboxTest {
    @Test
    void aBatchIsOneTaskInOrder() {
        List<Runnable> tasks = new ArrayList<>();
        List<Long> received = new ArrayList<>();
        DurableInbox inbox = new DurableInbox(tasks::add, a -> received.add(a.sequence));
        for (long s = 1; s <= 3; s++) {
            new DurableInbox.Appended(inbox, null, 1, s).run();
        }
        assertThat(tasks).hasSize(1);
        tasks.removeFirst().run();
        assertThat(received).containsExactly(1L, 2L, 3L);
        new DurableInbox.Appended(inbox, null, 1, 4).run();
        assertThat(tasks).hasSize(1);
    }
}
