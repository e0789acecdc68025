package io.cairn.rules;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The modules' dependencies, and the libraries' places, as in docs/architecture.md. */
class ArchitectureTest {
    private static final String COMMON = "io.cairn.common..";
    private static final String MDS = "io.cairn.mds..";
    private static final String DATASERVER = "io.cairn.dataserver..";
    private static final String CLIENT = "io.cairn.client..";
    private static final String FUSE = "io.cairn.fuse..";
    private static final String CLI = "io.cairn.cli..";

    /** Our classes without the tests, from folders or, in a packaged build, from jars. */
    static final JavaClasses OURS =
            new ClassFileImporter()
                    .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                    .withImportOption(location -> !location.contains("-tests.jar"))
                    .importPackages("io.cairn");

    static final ArchRule commonUsesNothingOfOurs =
            nothingIn(COMMON, MDS, DATASERVER, CLIENT, FUSE, CLI);

    static final ArchRule mdsUsesOnlyCommon = nothingIn(MDS, DATASERVER, CLIENT, FUSE, CLI);

    static final ArchRule dataServerUsesOnlyCommon = nothingIn(DATASERVER, MDS, CLIENT, FUSE, CLI);

    static final ArchRule clientUsesOnlyCommon = nothingIn(CLIENT, MDS, DATASERVER, FUSE, CLI);

    static final ArchRule fuseUsesOnlyClientAndCommon = nothingIn(FUSE, MDS, DATASERVER, CLI);

    /** Packages, not modules: those Maven keeps apart anyway. */
    static final ArchRule packagesHaveNoCycles =
            SlicesRuleDefinition.slices().matching("io.cairn.(**)").should().beFreeOfCycles();

    /** Outside RPC only buffers, and the utilities of their reference counts. */
    static final ArchRule onlyRpcUsesNetty =
            noClasses()
                    .that()
                    .resideOutsideOfPackage("io.cairn.common.rpc..")
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(
                            "io.netty.bootstrap..",
                            "io.netty.channel..",
                            "io.netty.handler..",
                            "io.netty.util.concurrent..");

    static final ArchRule onlyTheRaftPackageUsesRatis =
            only("org.apache.ratis..", "io.cairn.mds.raft..");

    static final ArchRule onlyStoresUseRocksDb =
            only(
                    "org.rocksdb..",
                    "io.cairn.common.rocks..",
                    "io.cairn.mds.store..",
                    "io.cairn.dataserver.store..",
                    "io.cairn.dataserver.chunk..");

    static final ArchRule onlyItsRoomUsesJnrFuse = only("ru.serce..", "io.cairn.fuse.jnr..");

    static final ArchRule onlyTheRoomOfJnrFuseUsesJnr = only("jnr..", "io.cairn.fuse.jnr..");

    /** An iterator without an upper bound walks over everything deleted behind its range. */
    static final ArchRule scansOfRocksDbHaveAnEnd =
            noClasses()
                    .that()
                    .doNotHaveFullyQualifiedName("io.cairn.common.rocks.PrefixIterator")
                    .should()
                    .dependOnClassesThat()
                    .haveFullyQualifiedName("org.rocksdb.RocksIterator");

    /**
     * Modules declare meters as enums of MeterSpec; how they are published is one room's matter.
     */
    static final ArchRule onlyTheMetricsRoomUsesMicrometer =
            only("io.micrometer..", "io.cairn.common.metrics..");

    static final ArchRule foreignMemoryIsForTheKernelAndTheClock =
            only(
                    "java.lang.foreign..",
                    "io.cairn.fuse..",
                    "io.cairn.common.time..",
                    "io.cairn..libc..");

    static final ArchRule onlyTheExecutableKnowsItsCommandLineAndItsLog =
            noClasses()
                    .that()
                    .resideOutsideOfPackage(CLI)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage("picocli..", "ch.qos.logback..");

    static final ArchRule onlyConfigurationAndOutputUseJackson =
            only("tools.jackson..", "io.cairn.common.config..", CLI);

    static final ArchRule dataFilesAreOpenedByDiskAndWal =
            noClasses()
                    .that()
                    .resideInAPackage(DATASERVER)
                    .and()
                    .resideOutsideOfPackages(
                            "io.cairn.dataserver.disk..", "io.cairn.dataserver.wal..")
                    .should()
                    .dependOnClassesThat()
                    .haveFullyQualifiedName("java.nio.channels.FileChannel")
                    .allowEmptyShould(true);

    @Test
    void theImportSeesEveryModule() {
        for (String module : List.of(COMMON, MDS, DATASERVER, CLIENT, FUSE, CLI)) {
            assertThat(OURS.stream().map(JavaClass::getPackageName))
                    .as(module)
                    .anyMatch(name -> (name + ".").startsWith(module.replace("..", ".")));
        }
    }

    /** Nor does one of a protocol have the name of one of ours. */
    @Test
    void noTwoClassesHaveOneName() {
        Map<String, List<String>> byName =
                OURS.stream()
                        .filter(JavaClass::isTopLevelClass)
                        .filter(c -> !c.getSimpleName().equals("package-info"))
                        .collect(
                                Collectors.groupingBy(
                                        JavaClass::getSimpleName,
                                        Collectors.mapping(
                                                JavaClass::getName, Collectors.toList())));
        assertThat(byName.values()).filteredOn(classes -> classes.size() > 1).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> rules() {
        return Arrays.stream(ArchitectureTest.class.getDeclaredFields())
                .filter(field -> field.getType() == ArchRule.class)
                .map(field ->
                        DynamicTest.dynamicTest(
                                field.getName(), () -> ((ArchRule) field.get(null)).check(OURS)));
    }

    private static ArchRule nothingIn(String where, String... of) {
        return noClasses()
                .that()
                .resideInAPackage(where)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(of)
                .allowEmptyShould(true);
    }

    private static ArchRule only(String library, String... packages) {
        return noClasses()
                .that()
                .resideOutsideOfPackages(packages)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(library)
                .allowEmptyShould(true);
    }
}
