package io.cairn.cli.output;

import java.io.PrintWriter;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** What a command prints on standard output: text, or one JSON document. */
public final class Output {
    private final PrintWriter out;

    public Output(PrintWriter out) {
        this.out = out;
    }

    public void line(String text) {
        out.println(text);
        out.flush();
    }

    /** Prints maps, lists, records and scalars; keys as they are. */
    public void json(Object document) {
        JsonMapper mapper = JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();
        line(mapper.writeValueAsString(document));
    }
}
