package io.cairn.rules;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Each module's rooms by floors, from the door to the ground. A room uses what lies below it, and
 * neither what lies above nor the other rooms of its own floor.
 */
class FloorsTest {
    /**
     * @param root the module's own package, the highest floor
     * @param rooms below it, by their names within the root; one list is one floor
     */
    private record House(String root, List<List<String>> rooms) {
        List<List<String>> floors() {
            List<List<String>> floors = new ArrayList<>();
            floors.add(List.of(root));
            for (List<String> floor : rooms) {
                floors.add(floor.stream().map(room -> root + "." + room).toList());
            }
            return floors;
        }
    }

    private static final House COMMON =
            new House(
                    "io.cairn.common",
                    List.of(
                            List.of("rocks", "map"),
                            List.of("rpc", "jmx", "data"),
                            List.of("metrics", "layout"),
                            List.of("config", "errno", "file", "libc", "posix", "release", "time"),
                            List.of("proto")));

    private static final House MDS =
            new House(
                    "io.cairn.mds",
                    List.of(
                            List.of("server"),
                            List.of("background"),
                            List.of("session"),
                            List.of("cluster"),
                            List.of("lease"),
                            List.of("leader"),
                            List.of("namespace"),
                            List.of("store"),
                            List.of("raft", "map", "metrics"),
                            List.of("proto")));

    private static final House DATASERVER =
            new House(
                    "io.cairn.dataserver",
                    List.of(
                            List.of("service", "mdslink"),
                            List.of("scrub"),
                            List.of("pg"),
                            List.of("replication"),
                            List.of("store"),
                            List.of("chunk"),
                            List.of("wal"),
                            List.of("disk"),
                            List.of("ground")));

    private static final House CLIENT =
            new House(
                    "io.cairn.client",
                    List.of(
                            List.of("move"),
                            List.of("inode"),
                            List.of("ahead", "name"),
                            List.of("meta", "data"),
                            List.of("api", "base")));

    private static final House FUSE =
            new House(
                    "io.cairn.fuse",
                    List.of(
                            List.of("mount"),
                            List.of("jnr"),
                            List.of("op"),
                            List.of("session"),
                            List.of("kernel", "libc")));

    private static final House CLI =
            new House(
                    "io.cairn.cli",
                    List.of(
                            List.of("stats", "migrate"),
                            List.of("local"),
                            List.of("part", "admin"),
                            List.of("command", "output")));

    private static final List<House> HOUSES = List.of(COMMON, MDS, DATASERVER, CLIENT, FUSE, CLI);

    @TestFactory
    Stream<DynamicTest> everyRoomHasItsFloor() {
        return HOUSES.stream()
                .map(house ->
                        DynamicTest.dynamicTest(
                                house.root(),
                                () ->
                                        assertThat(
                                                        ArchitectureTest.OURS.stream()
                                                                .map(JavaClass::getPackageName))
                                                .filteredOn(name ->
                                                        (name + ".").startsWith(house.root() + "."))
                                                .containsAll(rooms(house))
                                                .containsOnlyElementsOf(rooms(house))));
    }

    @TestFactory
    Stream<DynamicTest> importsPointDown() {
        return HOUSES.stream().flatMap(house -> rules(house.floors()));
    }

    private static List<String> rooms(House house) {
        return house.floors().stream().flatMap(List::stream).toList();
    }

    private static Stream<DynamicTest> rules(List<List<String>> floors) {
        List<DynamicTest> tests = new ArrayList<>();
        List<String> notBelow = new ArrayList<>();
        for (List<String> floor : floors) {
            notBelow.addAll(floor);
            for (String room : floor) {
                String[] forbidden =
                        notBelow.stream().filter(r -> !r.equals(room)).toArray(String[]::new);
                if (forbidden.length > 0) {
                    tests.add(
                            DynamicTest.dynamicTest(
                                    room,
                                    () -> usesNone(room, forbidden).check(ArchitectureTest.OURS)));
                }
            }
        }
        return tests.stream();
    }

    private static ArchRule usesNone(String room, String... forbidden) {
        return noClasses()
                .that()
                .resideInAPackage(room)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(forbidden);
    }
}
