package io.cairn.common.map;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Rows by ids that are small and dense, as those that the metadata service gives out: an array in
 * pages. Immutable: a change copies the pages that it touches and shares the others with the table
 * before, so that one row of 100,000 costs two pages. Any thread.
 */
final class IdTable<V> {
    /** Highest id: a page list of 64 Ki pages. */
    static final int MAX_ID = (1 << 24) - 1;

    private static final int SHIFT = 8;
    private static final int PAGE = 1 << SHIFT;

    /** Of no rows: null. */
    private final @Nullable Object[] @Nullable [] pages;

    private IdTable(@Nullable Object[] @Nullable [] pages) {
        this.pages = pages;
    }

    static <V> IdTable<V> empty() {
        return new IdTable<>(new @Nullable Object[0][]);
    }

    /** Null where there is no row, also for an id that no row can have. Allocates nothing. */
    @SuppressWarnings("unchecked") // only rows are put in
    @Nullable V get(int id) {
        int page = id >>> SHIFT;
        @Nullable Object @Nullable [] rows = page < pages.length ? pages[page] : null;
        return rows == null ? null : (V) rows[id & (PAGE - 1)];
    }

    /** By ascending id. */
    @SuppressWarnings("unchecked")
    void forEach(Consumer<? super V> action) {
        for (@Nullable Object @Nullable [] rows : pages) {
            if (rows == null) {
                continue;
            }
            for (@Nullable Object row : rows) {
                if (row != null) {
                    action.accept((V) row);
                }
            }
        }
    }

    /** By ascending id. */
    List<V> values() {
        List<V> values = new ArrayList<>();
        forEach(values::add);
        return values;
    }

    Edit<V> edit() {
        return new Edit<>(pages);
    }

    /** The changes that lead from one table to the next. One thread. */
    static final class Edit<V> {
        private final @Nullable Object[] @Nullable [] before;
        private @Nullable Object[] @Nullable [] pages;

        private Edit(@Nullable Object[] @Nullable [] before) {
            this.before = before;
            this.pages = before;
        }

        /**
         * @param row null: there is none any more
         * @throws IllegalArgumentException for an id below 0 or above {@link #MAX_ID}
         */
        void put(int id, @Nullable V row) {
            if (id < 0 || id > MAX_ID) {
                throw new IllegalArgumentException(
                        "id " + Integer.toUnsignedString(id) + ": ids are 0 to " + MAX_ID);
            }
            int page = id >>> SHIFT;
            if (pages == before || page >= pages.length) {
                pages = Arrays.copyOf(pages, Math.max(pages.length, page + 1));
            }
            @Nullable Object @Nullable [] rows = pages[page];
            if (rows == null) {
                rows = new @Nullable Object[PAGE];
                pages[page] = rows;
            } else if (page < before.length && rows == before[page]) {
                rows = rows.clone();
                pages[page] = rows;
            }
            rows[id & (PAGE - 1)] = row;
        }

        IdTable<V> done() {
            return new IdTable<>(pages);
        }
    }
}
