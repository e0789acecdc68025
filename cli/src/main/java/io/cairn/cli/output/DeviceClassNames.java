package io.cairn.cli.output;

import io.cairn.common.proto.DeviceClass;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Device classes as people write them: {@code ssd,hdd,hdd}. */
public final class DeviceClassNames {
    private static final String ANY = "any";

    private DeviceClassNames() {}

    /** Of a disk. */
    static String text(DeviceClass deviceClass) {
        return switch (deviceClass) {
            case DEVICE_CLASS_SSD -> "ssd";
            case DEVICE_CLASS_HDD -> "hdd";
            case DEVICE_CLASS_UNKNOWN, UNRECOGNIZED -> "-";
        };
    }

    /** Of the replicas of a pool. */
    static String text(List<DeviceClass> classes) {
        return classes.isEmpty()
                ? ANY
                : classes.stream().map(DeviceClassNames::text).collect(Collectors.joining(","));
    }

    /**
     * None for {@code any}.
     *
     * @throws IllegalArgumentException for what is no list of ssd and hdd
     */
    public static List<DeviceClass> parse(String text) {
        List<DeviceClass> classes = new ArrayList<>();
        if (text.equals(ANY)) {
            return classes;
        }
        for (String name : text.split(",", -1)) {
            classes.add(
                    switch (name) {
                        case "ssd" -> DeviceClass.DEVICE_CLASS_SSD;
                        case "hdd" -> DeviceClass.DEVICE_CLASS_HDD;
                        default ->
                                throw new IllegalArgumentException(
                                        "'" + text + "': any, or ssd and hdd with commas between");
                    });
        }
        return classes;
    }
}
