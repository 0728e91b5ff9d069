import { ConnectionError, errorCodes, frameTypes, initialWindow, numbersFrame } from './frames.js';

/** The window of the connection of a trusted client. */
const trustedBytes = 1_048_576;

/** The bytes that a client may send over its connection. */
export class ReceiveWindow {
  readonly #push: (frame: Buffer) => void;
  #size = initialWindow;
  #left = initialWindow;
  /** Bytes that may be sent again, but that no WINDOW_UPDATE has announced yet. */
  #credit = 0;

  constructor(push: (frame: Buffer) => void) {
    this.#push = push;
  }

  /** Counts received bytes. @throws ConnectionError if the client has sent more than it may */
  received(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0)
      throw new ConnectionError(errorCodes.flowControl, 'more data than the window allows');
  }

  /** Allows the client to send received bytes again. It is informed when they are half of the window. */
  credit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit >= this.#size / 2) this.#update();
  }

  /** Enlarges the window, because a caller of the connection was authenticated. */
  trust(): void {
    if (this.#size === trustedBytes) return;
    this.#credit += trustedBytes - this.#size;
    this.#size = trustedBytes;
    this.#update();
  }

  #update(): void {
    this.#push(numbersFrame(frameTypes.windowUpdate, 0, this.#credit));
    this.#left += this.#credit;
    this.#credit = 0;
  }
}
