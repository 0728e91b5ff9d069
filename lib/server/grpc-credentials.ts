import { experimental, ServerCredentials } from '@grpc/grpc-js';
import type { TlsMaterial, TlsSource } from './tls.js';

type CaListener = (update: { caCertificate: Buffer } | null) => void;
type IdentityListener = (update: { certificate: Buffer; privateKey: Buffer } | null) => void;

/** Credentials that follow a source of certificates; in the clear without one. */
export function grpcCredentials(tls: TlsSource | undefined): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const provider = new FollowingProvider(tls);
  const ca = tls.mutual ? provider : null;
  return experimental.createCertificateProviderServerCredentials(provider, ca, tls.mutual);
}

/** A source of certificates in the shape that grpc-js follows. */
class FollowingProvider implements experimental.CertificateProvider {
  readonly #tls: TlsSource;
  readonly #stops = new Map<CaListener | IdentityListener, (material: TlsMaterial) => void>();

  constructor(tls: TlsSource) {
    this.#tls = tls;
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#add(listener, ({ clientCa }) => {
      listener(clientCa ? { caCertificate: clientCa } : null);
    });
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#remove(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key }));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#remove(listener);
  }

  #add(listener: CaListener | IdentityListener, tell: (material: TlsMaterial) => void): void {
    this.#stops.set(listener, tell);
    this.#tls.onChange(tell);
    // Not at once: grpc-js registers its server after it has asked, and would not hear it.
    queueMicrotask(() => {
      if (this.#stops.get(listener) === tell) tell(this.#tls.material);
    });
  }

  #remove(listener: CaListener | IdentityListener): void {
    const tell = this.#stops.get(listener);
    if (tell) this.#tls.offChange(tell);
    this.#stops.delete(listener);
  }
}
