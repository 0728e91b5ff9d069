import { expect } from 'chai';
import { invalid, statusCodes } from '../../base/index.js';
import { errorBody, publicError } from './error-body.js';
import { httpStatuses } from './http-status.js';

describe('errors on the wire', () => {
  it('every code has its REST status', () => {
    expect(httpStatuses).to.include({
      Unauthenticated: 401,
      PermissionDenied: 403,
      NotFound: 404,
      AlreadyExists: 409,
      InvalidArgument: 400,
      FailedPrecondition: 412,
      Internal: 500,
      Aborted: 409,
      OutOfRange: 410,
    });
    expect(Object.keys(httpStatuses)).to.have.members(Object.keys(statusCodes));
  });

  it('have the documented REST body, and never the text of another error class', () => {
    const body = errorBody(invalid([{ field: 'f', description: 'd' }]), 'id');
    expect(body).to.include({ code: 3, status: 'INVALID_ARGUMENT', requestId: 'id' });
    expect(publicError(new Error('password=hunter2')).message).to.not.contain('hunter2');
  });
});
