package io.cairn.common.rocks;

import org.rocksdb.Env;
import org.rocksdb.Priority;

/**
 * RocksDB runs the flushes and compactions of all databases of a process on the same threads, no
 * more of them than the database with the most needs. Then one whose device hangs would end those
 * of the others. So there are as many as all need together. Any thread.
 */
final class BackgroundThreads {
    private static int flushes;
    private static int compactions;

    private BackgroundThreads() {}

    /**
     * A database was opened.
     *
     * @param jobs its max_background_jobs
     */
    static synchronized void opened(int jobs) {
        flushes += flushesOf(jobs);
        compactions += compactionsOf(jobs);
        set();
    }

    /** It was closed. */
    static synchronized void closed(int jobs) {
        flushes -= flushesOf(jobs);
        compactions -= compactionsOf(jobs);
        set();
    }

    /** As RocksDB divides them: {@code DBImpl::GetBGJobLimits}. */
    private static int flushesOf(int jobs) {
        return Math.max(1, jobs / 4);
    }

    private static int compactionsOf(int jobs) {
        return Math.max(1, jobs - flushesOf(jobs));
    }

    private static void set() {
        Env.getDefault().setBackgroundThreads(Math.max(1, flushes), Priority.HIGH);
        Env.getDefault().setBackgroundThreads(Math.max(1, compactions), Priority.LOW);
    }
}
