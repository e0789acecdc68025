<#-- THIRD-PARTY.txt of the package, written by add-third-party of license-maven-plugin. -->
<#-- Where authors offer several licences, the one that Cairn takes; PackageTest demands a choice. -->
<#assign chosen = {
  "logback-classic": "Eclipse Public License - v 1.0",
  "logback-core": "Eclipse Public License - v 1.0",
  "jffi": "The Apache Software License, Version 2.0",
  "jnr-posix": "Eclipse Public License - v 2.0",
  "HdrHistogram": "BSD-2-Clause",
  "rocksdbjni": "Apache License 2.0"
}>
Cairn is made with the software below, which this package holds in cli/target/lib as it was
published, with the notices that its authors put into each file. Cairn's own licence is in LICENSE.

Sources of what is under the Eclipse Public License: https://github.com/jnr/jnr-posix,
https://github.com/qos-ch/logback.

<#list dependencyMap as e>
<#assign artifact = e.getKey().artifactId, offered = e.getValue()>
${artifact}-${e.getKey().version}
    from      ${e.getKey().groupId}<#if e.getKey().url?has_content>, ${e.getKey().url}</#if>
<#if offered?size == 1>
    licence   ${offered?first}
<#elseif chosen[artifact]?? && offered?seq_contains(chosen[artifact])>
    licence   ${chosen[artifact]}
    offered   ${offered?join(" | ")}
<#else>
    licence   not chosen of ${offered?join(" | ")}
</#if>

</#list>
