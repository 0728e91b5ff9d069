import {
  createFileRegistry,
  type DescEnum,
  type DescFile,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { invalid, messageOf } from '../base/index.js';
import { unknownEnumValues, withMarkedEnumValues } from './enum-values.js';
import { hideFields } from './hidden-fields.js';
import type { JsonObject } from './json.js';
import { fromProtoJson } from './json-form.js';
import { malformed } from './malformed.js';
import { readMessage } from './codec/message-reader.js';
import { writeMessage } from './codec/message-writer.js';
import { present } from './present.js';
import { TurnDecoder } from './turn-decoder.js';

export type { DescEnum, DescField, DescMessage, DescMethod, DescService };

export type { JsonObject };

/**
 * Message and service descriptors with the conversions that follow from them: binary protobuf to proto3 JSON and
 * back. gRPC, REST, validation and clients use the same descriptors.
 */
export class SchemaRegistry {
  readonly #files: FileRegistry;

  /**
   * @param descriptorSet a FileDescriptorSet with all imports, base64. Its fields with the option `kedge.hidden` are
   * omitted
   */
  constructor(descriptorSet: string) {
    const bytes = Buffer.from(descriptorSet, 'base64');
    this.#files = createFileRegistry(hideFields(fromBinary(FileDescriptorSetSchema, bytes)));
  }

  /** The registry of all descriptors, with which custom options of descriptors are read. */
  get registry(): Registry {
    return this.#files;
  }

  /** Services of a package, in no particular order. */
  services(packageName: string): DescService[] {
    const found: DescService[] = [];
    for (const type of this.#files)
      if (type.kind === 'service' && type.file.proto.package === packageName) found.push(type);
    return found;
  }

  /**
   * The file that declares a message, enum, service or extension, or a member of one, such as a method. Undefined for
   * any other name; the member itself is not checked.
   */
  fileOf(symbol: string): DescFile | undefined {
    const name = symbol.replace(/^\./, '');
    const found = this.#files.get(name) ?? this.#files.get(name.slice(0, name.lastIndexOf('.')));
    return found?.file;
  }

  /** The file with this import name; undefined if there is none. */
  fileNamed(name: string): DescFile | undefined {
    return this.#files.getFile(name);
  }

  /** The file that declares an extension of a message; undefined if there is none. */
  fileOfExtension(typeName: string, number: number): DescFile | undefined {
    const message = this.#files.getMessage(typeName);
    return message && this.#files.getExtensionFor(message, number)?.file;
  }

  /** A file's descriptor as protobuf. */
  fileBytes(file: DescFile): Buffer {
    return Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto));
  }

  /** Returns the descriptor of a message. @throws TypeError for a name that is not in the descriptor set. */
  message(typeName: string): DescMessage {
    const message = this.#files.getMessage(typeName);
    if (!message) throw new TypeError(`no message ${typeName} in the descriptor set`);
    return message;
  }

  /**
   * Decodes a message to the JSON form of objects.
   * @throws StatusError InvalidArgument for bytes that are not a valid message of this type.
   */
  decode(message: DescMessage, bytes: Uint8Array): JsonObject {
    const read = readMessage(message, bytes);
    if (read) return read;
    try {
      return this.#asJson(message, fromBinary(message, bytes));
    } catch (error) {
      throw malformed(message, error);
    }
  }

  /**
   * Decodes a message as {@link decode} does if one fast pass can do so; the message is then valid and has no unknown
   * fields. Returns undefined for all other bytes, valid or not.
   */
  decodeKnown(message: DescMessage, bytes: Uint8Array): JsonObject | undefined {
    return readMessage(message, bytes);
  }

  /**
   * Like {@link decode}, for a long message: `turn` is awaited between its parts (see `TurnDecoder`).
   * @throws StatusError InvalidArgument for bytes that are not a valid message of this type
   */
  async decodeInTurns(
    message: DescMessage,
    bytes: Uint8Array,
    turn: () => Promise<void>,
  ): Promise<JsonObject> {
    try {
      const part = (of: DescMessage, part: Uint8Array): unknown =>
        readMessage(of, part) ?? this.#asJson(of, fromBinary(of, part));
      return (await new TurnDecoder(part, turn).json(message, [bytes])) as JsonObject;
    } catch (error) {
      throw malformed(message, error);
    }
  }

  #asJson(message: DescMessage, decoded: Message): JsonObject {
    return fromProtoJson(
      message,
      toJson(message, decoded, { registry: this.#files }) as JsonObject,
    );
  }

  /**
   * The error text for JSON that is not a valid message of this type, such as one with an unknown field or enum value;
   * undefined for a valid message. The value of an enum must be a name: a number would be stored as it is.
   */
  problem(message: DescMessage, json: JsonObject): string | undefined {
    const [unknown] = unknownEnumValues(message, json, 'none');
    if (unknown) return `${unknown.field}: ${unknown.description}`;
    try {
      fromJson(message, json as JsonValue, { registry: this.#files });
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /**
   * Encodes a message. Fields that the message does not have are omitted. A value of an enum is a name, or a number,
   * also one that the enum does not have: {@link decode} returns such a number for a value of a newer API.
   * @throws StatusError InvalidArgument for values that their enums do not have, naming each
   * @throws Error for another value that does not have the type of its field
   */
  encode(message: DescMessage, json: JsonObject): Uint8Array {
    const written = writeMessage(message, json);
    if (written) return written;
    // The general encoder would omit their fields, as it does unknown fields.
    const unknown = unknownEnumValues(message, json, 'any');
    if (unknown.length > 0) throw invalid(unknown);
    return this.#encodeAny(message, json);
  }

  /**
   * Encodes an answer as {@link encode} does, except that a value that its enum does not have becomes a number that the
   * enum does not have either, mostly -1: a stored object of another release must not end the list of all objects.
   * @throws Error for another value that does not have the type of its field
   */
  encodeAnswer(message: DescMessage, json: JsonObject): Uint8Array {
    const written = writeMessage(message, json);
    return written ?? this.#encodeAny(message, withMarkedEnumValues(message, json));
  }

  #encodeAny(message: DescMessage, json: JsonObject): Uint8Array {
    const options = { registry: this.#files, ignoreUnknownFields: true };
    return toBinary(message, fromJson(message, json as JsonValue, options));
  }

  /**
   * Encodes the stored fields of a message as {@link encodeAnswer} does their form in answers (see {@link present}): the
   * bytes are equal, because fields that it adds have their zero value, and fields that it omits are not written.
   */
  encodeStored(message: DescMessage, stored: JsonObject): Uint8Array {
    return writeMessage(message, stored) ?? this.encodeAnswer(message, present(message, stored));
  }
}
