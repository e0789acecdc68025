package io.cairn.dataserver.pg;

import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Lists for its primary what a learner has, one page at a time however often it is asked. Where a
 * page takes longer than a primary waits for it, it is kept until it is asked for again: else a
 * server with much to do would list the same for ever, and tell it to nobody. The loop that owns
 * the PG only.
 */
public final class ContentListing {
    private final BlockingCalls calls;
    private final Executor owner;
    private final Function<Key, List<ContentHead>> store;

    /** Counts what makes pages void that were listed before. */
    private long steps;

    private boolean listing;
    private @Nullable Question asked;
    private @Nullable Page kept;

    private record Question(
            Key after, Consumer<List<ContentHead>> answer, Consumer<Throwable> failure) {}

    private record Page(Key after, List<ContentHead> heads) {}

    /**
     * @param owner runs on the loop that owns the PG
     * @param store gives the page behind a key, on a thread of the disk
     */
    ContentListing(BlockingCalls calls, Executor owner, Function<Key, List<ContentHead>> store) {
        this.calls = calls;
        this.owner = owner;
        this.store = store;
    }

    /** The learner takes another step: what was listed before may not be what it has then. */
    public void changes() {
        steps++;
        kept = null;
    }

    /**
     * Exactly one of the two is told, once.
     *
     * @param failure also when the primary asks again meanwhile
     */
    public void list(Key after, Consumer<List<ContentHead>> answer, Consumer<Throwable> failure) {
        Page page = kept;
        if (page != null && page.after.equals(after)) {
            answer.accept(page.heads);
            return;
        }
        Question earlier = asked;
        asked = new Question(after, answer, failure);
        if (earlier != null) {
            earlier.failure.accept(new IllegalStateException("it was asked again"));
        }
        if (!listing) {
            begin(after);
        }
    }

    private void begin(Key after) {
        listing = true;
        kept = null;
        long step = steps;
        calls.call(
                () -> store.apply(after),
                heads -> owner.execute(() -> listed(step, new Page(after, heads))),
                failure -> owner.execute(() -> failed(failure)));
    }

    private void listed(long step, Page page) {
        listing = false;
        kept = step == steps ? page : null;
        Question question = asked;
        if (question == null) {
            return;
        }
        if (kept != null && page.after.equals(question.after)) {
            asked = null;
            question.answer.accept(page.heads);
        } else {
            begin(question.after);
        }
    }

    private void failed(Throwable failure) {
        listing = false;
        Question question = asked;
        asked = null;
        if (question != null) {
            question.failure.accept(failure);
        }
    }
}
