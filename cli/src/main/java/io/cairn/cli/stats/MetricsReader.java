package io.cairn.cli.stats;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.HostPort;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Reads the metrics of one process at its {@code metrics_address}. Used by one thread. */
final class MetricsReader implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final HttpClient client = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
    private final HostPort address;

    MetricsReader(HostPort address) {
        this.address = address;
    }

    /**
     * @throws CommandException UNREACHABLE, naming the address
     */
    Reading read() throws InterruptedException {
        HttpRequest request =
                HttpRequest.newBuilder(URI.create("http://" + address + "/metrics"))
                        .timeout(TIMEOUT)
                        .build();
        HttpResponse<String> answer;
        try {
            answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            String why = e.getMessage() == null ? "" : " (" + e.getMessage() + ")";
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    "nobody answers at the metrics address "
                            + address
                            + why
                            + "; is the part running?",
                    e);
        }
        Reading reading = Reading.parse(System.nanoTime(), answer.body());
        if (answer.statusCode() != 200 || reading.parts().isEmpty()) {
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    "who answers at the metrics address " + address + " is no part of Cairn");
        }
        return reading;
    }

    @Override
    public void close() {
        client.close();
    }
}
