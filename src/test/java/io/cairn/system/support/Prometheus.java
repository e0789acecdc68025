package io.cairn.system.support;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a part of a cluster says at its Prometheus endpoint. Any thread. */
public final class Prometheus {
    private static final Pattern ADDRESS = Pattern.compile("metrics_address = \"([^\"]+)\"");

    private Prometheus() {}

    public static String scrape(Cluster cluster, String part)
            throws IOException, InterruptedException {
        Path config = cluster.state().resolve(part).resolve("config.toml");
        Matcher address = ADDRESS.matcher(Files.readString(config));
        if (!address.find()) {
            throw new AssertionError(config + " names no metrics address");
        }
        try (HttpClient client = HttpClient.newHttpClient()) {
            URI uri = URI.create("http://" + address.group(1) + "/metrics");
            HttpResponse<String> answer =
                    client.send(
                            HttpRequest.newBuilder(uri).build(),
                            HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new AssertionError(uri + " answers with " + answer.statusCode());
            }
            return answer.body();
        }
    }

    /** The value of a metric that the part has once. */
    public static double value(Cluster cluster, String part, String name)
            throws IOException, InterruptedException {
        Matcher line =
                Pattern.compile("(?m)^" + name + "(?:\\{[^}]*\\})? (\\S+)$")
                        .matcher(scrape(cluster, part));
        if (!line.find()) {
            throw new AssertionError(part + " has no metric " + name);
        }
        return Double.parseDouble(line.group(1));
    }
}
