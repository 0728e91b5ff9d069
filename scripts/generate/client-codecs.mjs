// Keeps the part of ts-proto's output that a client calls: requests are encoded and responses decoded. Servers use
// descriptors, so these functions never decode a request or encode a response.
import { createFileRegistry } from '@bufbuild/protobuf';

/** Names of the messages of requests and of responses, as ts-proto writes them. */
export function messagesOf(set) {
  const requests = new Set();
  const responses = new Set();
  const walk = (message, found) => {
    const name = message.typeName.split('.').slice(1).join('_');
    if (found.has(name)) return;
    found.add(name);
    for (const field of message.fields) {
      // ts-proto has a message for each entry of a map.
      if (field.fieldKind === 'map')
        found.add(`${name}_${field.localName[0].toUpperCase()}${field.localName.slice(1)}Entry`);
      if (field.message) walk(field.message, found);
    }
  };
  for (const file of createFileRegistry(set).files)
    if (file.proto.package === 'api')
      for (const { methods } of file.services)
        for (const { input, output } of methods) {
          walk(input, requests);
          walk(output, responses);
        }
  return { requests, responses };
}

/**
 * The text of one generated file without the functions that only a server would call, and without the stubs of
 * services: the definitions are enough for `@kedge/api/client` and for the `Client` of grpc-js.
 */
export function withoutServerCodecs(text, { requests, responses }) {
  const method = (name) => new RegExp(`^  ${name}\\([\\s\\S]*?^  \\},\\n\\n?`, 'm');
  const codec = /^export const (\w+): MessageFns<\w+> = \{\n([\s\S]*?)^\};\n/gm;
  const bases = [];
  const stripped = text.replace(codec, (whole, name, body) => {
    const isRequest = requests.has(name);
    if (isRequest === responses.has(name)) return whole;
    if (isRequest) bases.push(name);
    const [left, gone] = isRequest ? ['encode', 'decode'] : ['decode', 'encode'];
    const kept = body.replace(method(gone), '');
    return `export const ${name}: Pick<MessageFns<${name}>, '${left}'> = {\n${kept}};\n`;
  });
  const served = stripped
    .replace(
      /^export interface \w+Server extends UntypedServiceImplementation \{\n[\s\S]*?^\}\n\n/gm,
      '',
    )
    .replace(/^export interface \w+Client extends Client \{\n[\s\S]*?^\}\n\n/gm, '')
    .replace(/^export const \w+Client = makeGenericClientConstructor\([\s\S]*?^\};\n\n?/gm, '')
    // Only the stubs use grpc-js.
    .replace(/^import (type )?\{[^}]*\} from "@grpc\/grpc-js";\n/m, '')
    .replace(
      /requestDeserialize: \(value: Buffer\): (\w+) =>\s*\1\.decode\(value\)/g,
      'requestDeserialize: (): $1 => notServed()',
    )
    .replace(
      /responseSerialize: \(value: (\w+)\): Buffer =>\s*Buffer\.from\(\1\.encode\(value\)\.finish\(\)\)/g,
      'responseSerialize: (_value: $1): Buffer => notServed()',
    );
  const ended = bases.reduce(
    (all, name) =>
      all.replace(new RegExp(`^function createBase${name}\\(\\)[\\s\\S]*?^\\}\\n\\n`, 'm'), ''),
    served,
  );
  return ended.includes('notServed()')
    ? `${ended}\nfunction notServed(): never {\n  throw new globalThis.Error("these codecs are for clients only: serve with ApiServer of kedge/server");\n}\n`
    : ended;
}
