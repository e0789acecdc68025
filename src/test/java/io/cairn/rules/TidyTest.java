package io.cairn.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Rules of style that a compiler does not know. */
class TidyTest {
    private static final Pattern WORD = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern COMMENT_OR_STRING =
            Pattern.compile(
                    "(/\\*(?s:.*?)\\*/|//[^\n]*)|\"\"\"(?s:.*?)\"\"\"|\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\])+'");
    private static final Pattern IMPORT = Pattern.compile("(?m)^import (?!static ).*;$");
    private static final Pattern LINK = Pattern.compile("]\\(([^)#:]+)\\)");
    private static final Pattern VAGUE_PACKAGE =
            Pattern.compile("/(utils?|impl|helpers?|managers?|interfaces?|misc)/");

    /** Files other than this one, which must name what it bans. */
    private static List<Path> java() {
        return SourceTree.files(".java").stream()
                .filter(p -> !p.endsWith("TidyTest.java"))
                .toList();
    }

    private static void banned(String regex, Predicate<Path> where, String instead) {
        Pattern pattern = Pattern.compile(regex);
        List<String> found = new ArrayList<>();
        for (Path file : java()) {
            if (where.test(file)) {
                List<String> lines = SourceTree.read(file).lines().toList();
                for (int i = 0; i < lines.size(); i++) {
                    if (pattern.matcher(lines.get(i)).find()) {
                        found.add(file + ":" + (i + 1) + ": " + lines.get(i).strip());
                    }
                }
            }
        }
        assertThat(found).as(instead).isEmpty();
    }

    @Test
    void nothingSleeps() {
        banned(
                "Thread\\.sleep\\(|TimeUnit\\.\\w+\\.sleep\\(",
                p -> true,
                "wait for a condition, or own the clock");
        banned(
                "LockSupport\\.park",
                p -> p.toString().contains("src/test/"),
                "wait for a condition, or own the clock");
    }

    @Test
    void onlyTheExecutableEndsTheProcess() {
        banned(
                "System\\.exit\\(|getRuntime\\(\\)\\.halt\\(",
                p ->
                        p.toString().contains("src/main/")
                                && !p.startsWith("cli")
                                && !p.endsWith("FatalHandler.java"),
                "report a fatal error to whoever started the part");
    }

    @Test
    void stacksAreLoggedNotPrinted() {
        banned("printStackTrace\\(\\)", p -> true, "use a logger");
    }

    @Test
    void onlyTheExecutablePrints() {
        banned(
                "System\\.(out|err)\\.print",
                p -> p.toString().contains("src/main/") && !p.startsWith("cli"),
                "use a logger");
    }

    @Test
    void dataOperationsAreMadeByTheirFactories() {
        banned(
                "new DataOp\\(",
                p -> p.toString().contains("src/main/") && !p.toString().contains("/data/DataOp"),
                "fourteen numbers in a row: use DataOp.write, read, truncateInode, ...");
    }

    @Test
    void nothingIsLeftForLater() {
        banned("\\b(TODO|FIXME|XXX|HACK)\\b|@Disabled\\b", p -> true, "do it, or open an issue");
    }

    @Test
    void randomnessHasASeed() {
        banned(
                "new Random\\(\\)(?!\\.nextLong)|Math\\.random\\(\\)",
                p -> true,
                "random tests print their seed and take it back");
    }

    /** With two, a test would be run by nothing but {@code make test PART=all}. */
    @Test
    void noTestIsInTwoParts() {
        Pattern two = Pattern.compile("(?s)@Tag\\(\"part-.*@Tag\\(\"part-");
        assertThat(java())
                .filteredOn(p -> two.matcher(SourceTree.read(p)).find())
                .as("a class has one tag of a part at most, see CONTRIBUTING.md")
                .isEmpty();
    }

    @Test
    void packagesSayWhatIsInThem() {
        assertThat(java()).noneMatch(p -> VAGUE_PACKAGE.matcher(p.toString()).find());
    }

    @Test
    void everyPackageIsNullMarked() {
        for (Path file : java()) {
            if (file.toString().contains("src/main/java")) {
                Path info = SourceTree.ROOT.resolve(file).resolveSibling("package-info.java");
                assertThat(info).as("of %s", file).exists().content().contains("@NullMarked");
            }
        }
    }

    /** By the product: neither a test nor a comment keeps a class alive. */
    @Test
    void everyClassIsUsed() {
        Map<String, Integer> filesNaming = new HashMap<>();
        List<Path> texts = new ArrayList<>(SourceTree.files("pom.xml"));
        texts.addAll(SourceTree.files(".Configurator"));
        texts.add(Path.of("cairn"));
        for (Path file : texts) {
            count(SourceTree.read(file), filesNaming);
        }
        List<Path> product =
                java().stream()
                        .filter(p -> p.toString().contains("src/main/java"))
                        .filter(p -> !p.endsWith("package-info.java"))
                        .toList();
        for (Path file : product) {
            count(code(SourceTree.read(file)), filesNaming);
        }
        assertThat(product)
                .filteredOn(p -> filesNaming.getOrDefault(className(p), 0) < 2)
                .as("named by no other file")
                .isEmpty();
    }

    private static void count(String text, Map<String, Integer> filesNaming) {
        WORD.matcher(text)
                .results()
                .map(MatchResult::group)
                .distinct()
                .forEach(word -> filesNaming.merge(word, 1, Integer::sum));
    }

    /** Without comments, and without imports, which may serve a comment alone. */
    private static String code(String java) {
        String bare =
                COMMENT_OR_STRING
                        .matcher(java)
                        .replaceAll(
                                m -> m.group(1) == null ? Matcher.quoteReplacement(m.group()) : "");
        return IMPORT.matcher(bare).replaceAll("");
    }

    @Test
    void everyFormatIsDescribed() {
        StringBuilder described = new StringBuilder();
        SourceTree.files(".md").forEach(p -> described.append(SourceTree.read(p)));
        assertThat(java())
                .filteredOn(p ->
                        p.toString().contains("src/main/java")
                                && p.toString().endsWith("Format.java"))
                .filteredOn(
                        p -> !p.toString().contains("io/cairn/fuse/")) // the kernel's, described by
                // <linux/fuse.h>
                .filteredOn(p -> described.indexOf(className(p)) < 0)
                .as("in no file below docs/")
                .isEmpty();
    }

    @Test
    void linksOfTheDocumentationLeadSomewhere() {
        for (Path file : SourceTree.files(".md")) {
            Matcher link = LINK.matcher(SourceTree.read(file));
            while (link.find()) {
                Path target = SourceTree.ROOT.resolve(file).resolveSibling(link.group(1).strip());
                assertThat(Files.exists(target)).as("%s -> %s", file, link.group(1)).isTrue();
            }
        }
    }

    private static String className(Path file) {
        return file.getFileName().toString().replace(".java", "");
    }
}
