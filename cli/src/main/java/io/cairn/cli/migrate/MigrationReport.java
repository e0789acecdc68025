package io.cairn.cli.migrate;

import io.cairn.cli.output.Sizes;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a migration has done, or with a dry run what it would do.
 *
 * @param wasThere files that were in the pool
 * @param gone files that were deleted meanwhile
 * @param failed files that are where they were; not all of them are named
 * @param bytes copied, what was written meanwhile more than once; in a dry run, of the files' sizes
 */
public record MigrationReport(
        boolean dryRun,
        String pool,
        long moved,
        long wasThere,
        long gone,
        long failed,
        long directories,
        long bytes,
        double seconds,
        List<Failure> failures) {
    /** A file that could not be moved. */
    public record Failure(String path, String why) {}

    public boolean isComplete() {
        return failed == 0;
    }

    public void print(PrintWriter out) {
        for (Failure f : failures) {
            out.printf("not moved: %s: %s%n", f.path, f.why);
        }
        if (dryRun) {
            out.printf(
                    "%,d files of %s and %,d directories would be moved to pool %s; %,d files are there%n",
                    moved, Sizes.text(bytes), directories, pool, wasThere);
        } else {
            out.printf(
                    Locale.ROOT,
                    "%,d files moved to pool %s, %s copied in %.1f s; %,d files were there, %,d were deleted meanwhile, %,d could not be moved; %,d directories%n",
                    moved,
                    pool,
                    Sizes.text(bytes),
                    seconds,
                    wasThere,
                    gone,
                    failed,
                    directories);
        }
        out.flush();
    }

    public Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("dry_run", dryRun);
        json.put("pool", pool);
        json.put("files_moved", moved);
        json.put("files_there", wasThere);
        json.put("files_gone", gone);
        json.put("files_failed", failed);
        json.put("directories", directories);
        json.put("bytes", bytes);
        json.put("seconds", seconds);
        json.put(
                "failures",
                failures.stream().map(f -> Map.of("path", f.path, "error", f.why)).toList());
        return json;
    }
}
