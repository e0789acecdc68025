package io.cairn.common.config;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

/** Reads configuration files. Stateless; any thread. */
public final class Config {
    private Config() {}

    /**
     * Reads a TOML file into a configuration record.
     *
     * @throws ConfigException if the file cannot be read or is refused; its message is for the
     *     administrator
     */
    public static <R extends Record> R load(Path file, Class<R> type) {
        String text;
        try {
            text = Files.readString(file);
        } catch (NoSuchFileException e) {
            throw new ConfigException(file.toString(), 0, "", "no such file");
        } catch (CharacterCodingException e) {
            throw new ConfigException(file.toString(), 0, "", "not UTF-8 text");
        } catch (IOException e) {
            throw new ConfigException(file.toString(), 0, "", "cannot be read: " + e.getMessage());
        }
        return parse(file.toString(), text, type);
    }

    /**
     * Reads TOML text.
     *
     * @param file name for messages; relative paths in the text are taken from its directory
     * @throws ConfigException if the text is refused
     */
    public static <R extends Record> R parse(String file, String text, Class<R> type) {
        JsonNode root;
        try {
            root = new TomlMapper().readTree(text);
        } catch (JacksonException e) {
            TokenStreamLocation location = e.getLocation();
            int line = location == null ? 1 : Math.max(1, location.getLineNr());
            String problem = e.getOriginalMessage().lines().findFirst().orElse("syntax error");
            throw new ConfigException(file, line, "", "not valid TOML: " + problem);
        }
        Path absolute = Path.of(file).toAbsolutePath();
        Path directory = absolute.getParent() == null ? absolute : absolute.getParent();
        RecordBinder binder = new RecordBinder(file, directory, TomlPositions.scan(text));
        return type.cast(binder.bind(TableSchema.of(type), root, ""));
    }
}
